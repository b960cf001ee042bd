"""The round of play: ask the policy, get a reward, take it in, perhaps stop."""
