"""Measuring the product: retrieval quality on judged collections. Nothing else imports it but the command line."""
