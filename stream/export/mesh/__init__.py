"""A skinned mesh of a person from the proportions of a skeleton (`mesh`): its solid (`shape`) and its surface (`surface`)."""
