"""The second page of Lai, Yuen & Lee 2012: all poses, dictionaries by their size, and all models with equal memory."""

from benchmarks.papers.page.compare import average_subjects, compare_atoms, compare_restoring
from benchmarks.papers.page.frame import PageItem, PaperPage
from benchmarks.papers.restoring_poses import Task

ABOUT = """Models, noise and errors are those of [sparse coding](papers-lai.md), whose tables by subject have no limit of memory.
± are two standard errors over seeds. A row with the name of a model only belongs to the task above it.
"""

PAGE = PaperPage(
    "lai-sizes",
    "papers-dictionaries.md",
    "Lai, Yuen & Lee 2012: large scale, sizes of dictionaries",
    (
        PageItem(
            "Table 1",
            "large-scale comparison",
            "Every so many-th pose of all CMU and HDM05 motions here, of 23 people, in place of the paper's 4 million poses. The "
            "paper holds nobody out.",
            "restoring-large",
            compare_restoring(tuple(Task), True),
            "Worse than the paper, whose models learned from thousands of times as many poses. Held-out people double the error "
            "of completion by *k-svd* and *all-poses*; one Gaussian then ties with the best.",
        ),
        PageItem(
            "Section 4.1",
            "size of the dictionary",
            "K atoms learned from dances, pursuit against the mean of many codes; completion of takes held out. *Local PCA*: of "
            "training poses that are as many numbers as K atoms. The paper's K is lost.",
            "restoring-atoms",
            compare_atoms(Task.COMPLETION),
            "With few numbers the dictionary is best; from 200 atoms on it ties with the local PCA, and more atoms help neither. "
            "The mean of many codes is better than the pursuit at every K. Of the subject 800 + 3 K poses are taken.",
            only=("omp", "k-svd", "local-pca", "05"),
        ),
        PageItem(
            "Tables 2 to 4",
            "equal memory",
            "Every model may hold 8,000 numbers, mean over five subjects, held-out takes.",
            "restoring-memory",
            lambda rows: compare_restoring(tuple(Task), True)(average_subjects(rows)),
            "In 15 pairs of subject and task *k-svd* beats the local PCA in 2, ties in 10 and loses in 3. The pursuit beats it "
            "in none, ties in 3 and loses in 12. One Gaussian, 1,710 numbers, completes as well as any.",
        ),
    ),
    ABOUT,
)
