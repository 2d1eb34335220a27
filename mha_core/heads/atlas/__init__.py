"""What every head does over ordinary text, found without being told what to look for."""
