"""The metric's Space: its card. Responses are scored by the package and shown in its report."""

import os
from pathlib import Path

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"

import gradio as gr

_TEXT = Path(__file__).with_name("README.md").read_text("utf-8")
CARD = _TEXT.removeprefix("---\n").partition("\n---\n")[2]  # without the front matter

with gr.Blocks(title="SGSAcc metric") as demo:
    gr.Markdown(CARD)

if __name__ == "__main__":
    demo.launch()
