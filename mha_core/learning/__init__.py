"""Small models trained before the reader's eyes: data made on the spot, a loop by steps, and what each head learnt."""
