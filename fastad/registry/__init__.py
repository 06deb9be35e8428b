"""One row a measure: what everything that treats measures alike reads.

`evaluate`, the command line, scorers, the invariance tests and the pages of the documentation go
through these rows; to add a measure is to add its row.
"""

from fastad.registry.measure import Measure as Measure
from fastad.registry.questions import Question as Question
from fastad.registry.questions import Questions as Questions
from fastad.registry.questions import example as example
from fastad.registry.questions import parse_questions as parse_questions
from fastad.registry.questions import read_label as read_label
from fastad.registry.questions import standard_questions as standard_questions
from fastad.registry.questions import with_range as with_range
from fastad.registry.rows import MEASURES as MEASURES
