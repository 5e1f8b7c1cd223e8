"""How many dimensions human poses need (Chai & Hodgins 2005, Figure 5)."""
