"""What every head does on real text, against the best simple rules, with controls that can fail."""
