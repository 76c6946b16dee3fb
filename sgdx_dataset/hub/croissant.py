"""The description of a built repository in Croissant, with the fields of responsible AI.

Croissant 1.0 (http://mlcommons.org/croissant/1.0) is the vocabulary by which search engines and
libraries find and read data sets; its RAI fields (http://mlcommons.org/croissant/RAI/1.0) say how
the data came about and what they are not for.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa

from ..rows.columns import DIALOGUE_COLUMNS
from ..sgdx_dataset import CITATION, VERSION

Json = dict[str, Any]

_TERMS = (
    "citeAs", "column", "extract", "field", "fileObject", "fileProperty", "fileSet", "format",
    "includes", "isLiveDataset", "jsonPath", "key", "md5", "parentField", "path", "recordSet",
    "references", "regex", "repeated", "replace", "separator", "source", "subField", "transform",
)  # fmt: skip
_CONTEXT: Json = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    **{term: f"cr:{term}" for term in _TERMS},
}
_DATA_TYPES = {"string": "sc:Text", "int32": "sc:Integer", "bool": "sc:Boolean"}
_ABOUT: Json = {
    "rai:dataCollection": "A simulator made outlines of dialogues between a user and an assistant "
    "that calls APIs, and crowd workers wrote the utterances (Rastogi et al. 2020). Crowd workers "
    "wrote five more wordings of every schema, v1 nearest to the original and v5 farthest (Lee et "
    "al. 2022). The schemas of backtrans were translated to Chinese, Japanese or Korean and back "
    "by a language model, for this project.",
    "rai:dataCollectionType": ["Simulation", "Crowdsourcing", "Machine translation"],
    "rai:dataAnnotationProtocol": "Dialogue acts, states and API calls come from the simulator and "
    "are not annotated by hand. Spans of values were found in the utterances.",
    "rai:dataPreprocessingProtocol": "Names of services, slots and intents are replaced by those "
    "of a variant, all at once, and the schemas are joined into each dialogue. Utterances are as "
    "released.",
    "rai:dataUseCases": "Training dialogue state trackers and generators on the original schemas, "
    "and judging how robust they are on v1 to v5. Training on v1 to v5 makes that judgement "
    "void.",
    "rai:dataLimitations": "English alone. Users are cooperative and stay with the outline. "
    "States hold some contradictions between dialogues (docs/errata.md of sgdx). Five wordings are "
    "a small sample of the wordings that people would choose.",
    "rai:dataBiases": "Services and places are mostly those of the United States. The words are "
    "those of crowd workers who were shown an outline.",
    "rai:personalSensitiveInformation": "No user was observed: people in the dialogues are made "
    "up. Names and numbers of businesses occur as results of API calls.",
    "rai:dataSocialImpact": "Assistants that work with APIs whose authors chose other words. A "
    "high score says nothing of safety, of other languages or of users who do not cooperate.",
    "rai:dataReleaseMaintenancePlan": "The release does not change any more. Corrections of the "
    "conversion raise the version.",
}  # fmt: skip


def write_croissant(folder: Path, configs: Iterable[str], repo_id: str, completeness: str) -> None:
    """Write ``croissant.json``.

    Args:
        folder: The repository.
        configs: The configs that it has.
        repo_id: Its name on the Hub.
        completeness: A sentence that says whether this is all of SGD.
    """
    url = f"https://huggingface.co/datasets/{repo_id}"
    repository = {
        "@type": "cr:FileObject",
        "@id": "repository",
        "name": "repository",
        "description": "The repository on the Hugging Face Hub.",
        "contentUrl": url,
        "encodingFormat": "git+https",
        # A repository has no digest; this is what the Hub itself gives here.
        "sha256": "https://github.com/mlcommons/croissant/issues/80",
    }
    names = list(configs)
    description = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": [
            "http://mlcommons.org/croissant/1.0",
            "http://mlcommons.org/croissant/RAI/1.0",
        ],
        "name": "SGD and SGD-X",
        "description": "Schema-guided dialogue under six wordings of every schema. "
        + completeness.replace("**", "").replace("\n", " "),
        "url": url,
        "license": "https://creativecommons.org/licenses/by-sa/4.0/",
        "version": VERSION,
        "citeAs": " ".join(CITATION.split()),
        "inLanguage": "en",
        "keywords": ["dialogue state tracking", "tool calling", "robustness"],
        **_ABOUT,
        "distribution": [repository, *map(_file_set, names)],
        "recordSet": [_record_set(config) for config in names],
    }
    text = json.dumps(description, indent=1, ensure_ascii=False)
    (folder / "croissant.json").write_text(text + "\n", encoding="utf-8")


def _file_set(config: str) -> Json:
    """The Parquet files of a config."""
    return {
        "@type": "cr:FileSet",
        "@id": f"parquet/{config}",
        "name": f"parquet/{config}",
        "containedIn": {"@id": "repository"},
        "encodingFormat": "application/x-parquet",
        "includes": f"data/{config}/*.parquet",
    }


def _record_set(config: str) -> Json:
    """The dialogue rows of a config."""
    return {
        "@type": "cr:RecordSet",
        "@id": config,
        "name": config,
        "description": f"Dialogues under the schemas of {config}.",
        "field": [_field(config, [column.name], column.type) for column in DIALOGUE_COLUMNS],
    }


def _field(config: str, path: list[str], kind: pa.DataType) -> Json:
    """A column of the rows, or a field of the records in one.

    Args:
        config: The config.
        path: Names of the column and of the fields that lead there.
        kind: Its type.
    """
    extract = {"extract": {"column": path[0]}}
    below = {"transform": {"jsonPath": ".".join(path[1:])}} if len(path) > 1 else {}
    field: Json = {
        "@type": "cr:Field",
        "@id": "/".join([config, *path]),
        "name": "/".join([config, *path]),
        "source": {"fileSet": {"@id": f"parquet/{config}"}, **extract, **below},
    }
    while pa.types.is_list(kind):  # of lists of lists too, for which Croissant 1.0 has no word
        field["repeated"] = True
        kind = kind.value_type
    if pa.types.is_struct(kind):
        field["subField"] = [_field(config, [*path, part.name], part.type) for part in kind]
    else:
        field["dataType"] = _DATA_TYPES[str(kind)]
    return field
