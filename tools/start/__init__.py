"""`duocap start`: from cameras to a recorded take on one page, in steps that can be left and taken up later.

`step` is what a step has and works at: the project, its page, the server that other pages get for a while. A step is a module
(`cameras`, `rig`, `performer`, `record`, `takes`, `send`): its form, and what its buttons do; `start` has their order and the
loop.
"""
