"""Errors of synthesized poses by behaviour and method: Figure 6 of Chai & Hodgins 2005 on the protocol's clips."""
