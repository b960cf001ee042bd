"""The same decisions with many arms, by a look at few of them."""
