"""An assessment as text, as a page and as pictures."""
