"""The search against exhaustive search (Chai & Hodgins 2005, Table 1): poses examined, distances, time, by database size."""
