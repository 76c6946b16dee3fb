"""The metric's Space: its card, and a tab that scores responses to the sample corpus."""

import os
import sys
from pathlib import Path

# A Space runs this file as a script: its folder comes first on the path then, and sgsacc_metric.py
# in it would hide the installed package of that name. So it comes last, for what lies beside it.
if not __package__:
    sys.path.sort(key=lambda entry: Path(entry).resolve() == Path(__file__).resolve().parent)
os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"

import gradio as gr

from sgsacc_metric.app import add_generation


def build() -> gr.Blocks:
    """The page."""
    card = Path(__file__).with_name("README.md").read_text("utf-8")
    with gr.Blocks(title="SGSAcc metric") as page:
        with gr.Tab("Card"):
            gr.Markdown(card.removeprefix("---\n").partition("\n---\n")[2])  # no front matter
        with gr.Tab("Try it") as tab:
            add_generation(tab)
    return page


if __name__ == "__main__":
    # The computer's own fonts, so that none is fetched from a server.
    fonts = {"font": ["system-ui", "sans-serif"], "font_mono": ["monospace"]}
    build().launch(share=False, theme=gr.themes.Soft(**fonts), max_file_size="50mb")
