"""A skinned mesh of a person by the proportions of a skeleton (`mesh`): its solid (`loft`, `shape`), its surface (`surface`)."""
