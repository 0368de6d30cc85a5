"""Where records lie: scaled original attributes, or an autoencoder's latent space."""
