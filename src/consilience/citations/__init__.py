"""Citations in a text: found, checked against brains, and the quotations beside them."""
