"""Tables 1 to 4 of Lai, Yuen & Lee 2012: noisy and incomplete poses restored by models of poses (`measure`, `table`).

`poses` reads joint positions, `tasks` standardises and corrupts them, `models` names the models that restore them.
"""
