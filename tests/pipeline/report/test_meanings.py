import re

from broker_lite.pipeline.report.log_page import log_page
from broker_lite.pipeline.report.meanings import MEANINGS
from tests.pipeline.report.test_log_page import FULL


def test_every_column_of_the_page_is_explained() -> None:
    headers = set(re.findall(r"<th[^>]*>([^<]+)</th>", log_page(FULL)))
    assert headers - {"Topic", "Column", "Meaning"} == MEANINGS.keys()
