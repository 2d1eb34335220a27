"""Small models trained while a user watches: one trainer, tasks as data, and reports of what every head learned."""
