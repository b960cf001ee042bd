"""The round of play: ask the policy, get a reward, take it in, perhaps stop, record.

There is one loop, `play.play`, and nothing else in the package loops over rounds. A simulation, the
identification of the best arm and the replay of a log (`run`) give it a policy (`runner`), rewards
(`rewards`), a stopping rule or none (`stopping`, `outcome`) and what to keep (`record`). Live, a
bandit's `ask` and `tell` are the two halves of the same round: `PolicyRunner.next` and `.take_in`.
"""
