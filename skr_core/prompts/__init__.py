"""Every word that is sent to a language model: one module for each occasion."""
