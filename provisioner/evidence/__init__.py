"""Evidence of a wipe: the document, the signed chain, and its verification offline."""
