"""What is known of GPU types, engine versions and model architectures: pure data and look-up."""
