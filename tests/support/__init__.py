"""What tests share: oracles, strategies and made-up data."""
