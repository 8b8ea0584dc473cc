"""A supply chain of supermarkets: seven interactions as pure tables, shared by all workloads derived from them.

* `topology`: `horizontal(base)`, `vertical(base)`; `freeform.read(text, base)` for a user's own; `.only(2)` for one
  interaction alone.
* `executions.assign(topology, execution)`: who takes part in an execution, from its id alone; `column` for its sizes.
* `compiling.compile_scenario(topology)`: for each location its event handlers (what they consume, in a transaction or
  not, and what they answer) and its drivers (what they send, at which planned instants), as the engine has them.
* `supply_chain.SupplyChain(topology)`: the model that the load and the audit ask.
* `characterization`: what the tables amount to, before anything runs: rates and bytes by step, interaction, location
  and group.

**A handler's answer is a table look-up.** A driver assigns the parties of an execution once and writes them into fields
of the message; every answer copies them from the message that it answers. An answer goes to the destination at the
index of its receiving party, with the body size of the execution's column. Where it has `only_from`, it is sent only if
that field equals the sender: a distribution centre gets an offer from each supplier, and orders upon the one from the
supplier that is assigned. Handlers keep no state, so that any number of them may share a queue; assignments repeat
after `executions.assignment_period`, so that all frames can be built beforehand.
"""
