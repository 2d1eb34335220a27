"""Which query heads share keys and values, as a picture and in words.

In: a layer's projections and a head. Out: a block; a sentence.
"""

from mha_core import Projections
from mha_core.display_names import count_noun
from mha_core.draw.text import listed
from pages.parts.picture.tiles import Block


def groups_block(owner: tuple[int, ...], keys: int, chosen: int) -> Block:
    """Draw which of `keys` key and value heads each query head uses."""
    own = f"{', each' if keys > 1 else ''} with its own keys and values"
    shared = f" share {count_noun(keys, 'key and value head')}"
    return {
        "type": "groups",
        "owner": list(owner),
        "keys": keys,
        "chosen": chosen,
        "describe": count_noun(len(owner), "query head") + (own if keys == len(owner) else shared),
    }


def shared_keys_text(sizes: Projections, h: int) -> list[str]:
    """Say with whom a head (from 0) shares its keys and values, and what that saves; nothing where it shares none."""
    if sizes.n_kv_heads == sizes.n_heads:
        return []
    group = listed([str(i + 1) for i in sizes.group(h)])
    narrow, wide = sizes.n_kv_heads * sizes.d_k, sizes.n_heads * sizes.d_k
    return [
        f"Query heads **{group}** share K and V: {sizes.n_heads} query heads, "
        f"{count_noun(sizes.n_kv_heads, 'key and value head')} ([[GQA|grouped-query attention]]). Each token keeps "
        f"{narrow} numbers of K and of V instead of {wide}."
    ]
