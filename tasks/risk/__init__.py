"""What an attacker learns from the published rows, alone and beside every earlier release."""
