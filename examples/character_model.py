"""A small character-level transformer, a text for it, and its training."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F

# The beginning of "Alice's Adventures in Wonderland" by Lewis Carroll (1865), in the public domain.
TEXT = """\
Alice was beginning to get very tired of sitting by her sister on the bank, and of having nothing to do: once or twice
she had peeped into the book her sister was reading, but it had no pictures or conversations in it, "and what is the use
of a book," thought Alice "without pictures or conversations?"

So she was considering in her own mind (as well as she could, for the hot day made her feel very sleepy and stupid),
whether the pleasure of making a daisy-chain would be worth the trouble of getting up and picking the daisies, when
suddenly a White Rabbit with pink eyes ran close by her.

There was nothing so very remarkable in that; nor did Alice think it so very much out of the way to hear the Rabbit say
to itself, "Oh dear! Oh dear! I shall be late!" (when she thought it over afterwards, it occurred to her that she ought
to have wondered at this, but at the time it all seemed quite natural); but when the Rabbit actually took a watch out of
its waistcoat-pocket, and looked at it, and then hurried on, Alice started to her feet, for it flashed across her mind
that she had never before seen a rabbit with either a waistcoat-pocket, or a watch to take out of it, and burning with
curiosity, she ran across the field after it, and fortunately was just in time to see it pop down a large rabbit-hole
under the hedge.

In another moment down went Alice after it, never once considering how in the world she was to get out again.

The rabbit-hole went straight on like a tunnel for some way, and then dipped suddenly down, so suddenly that Alice had
not a moment to think about stopping herself before she found herself falling down a very deep well.

Either the well was very deep, or she fell very slowly, for she had plenty of time as she went down to look about her
and to wonder what was going to happen next.
"""
ALPHABET = sorted(set(TEXT))


@dataclass(frozen=True)
class Size:
    """The model's dimensions, in elements."""

    context: int = 32
    width: int = 64
    heads: int = 4
    layers: int = 2
    batch: int = 16


class Block(nn.Module):
    """Causal self-attention and an MLP, each behind a layer norm and around a residual connection."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.heads = size.heads
        self.attention_norm = nn.LayerNorm(size.width)
        self.attention = nn.Linear(size.width, 3 * size.width)
        self.projection = nn.Linear(size.width, size.width)
        self.mlp = nn.Sequential(
            nn.LayerNorm(size.width),
            nn.Linear(size.width, 4 * size.width),
            nn.GELU(),
            nn.Linear(4 * size.width, size.width),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        query, key, value = (
            part.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
            for part in self.attention(self.attention_norm(x)).chunk(3, dim=-1)
        )
        attended = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.projection(attended.transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(x)


class CharacterModel(nn.Module):
    """Logits of the next character, for each position of a batch of texts."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.characters = nn.Embedding(len(ALPHABET), size.width)
        self.positions = nn.Embedding(size.context, size.width)
        self.blocks = nn.Sequential(*(Block(size) for _ in range(size.layers)))
        self.norm = nn.LayerNorm(size.width)
        self.head = nn.Linear(size.width, len(ALPHABET))

    def forward(self, characters: torch.Tensor) -> torch.Tensor:
        positions = torch.arange(characters.shape[1], device=characters.device)
        return self.head(self.norm(self.blocks(self.characters(characters) + self.positions(positions))))


def batches(size: Size, seed: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Endless batches of characters and of the characters that follow them, on the CPU, the same for the same seed."""
    text = torch.tensor([ALPHABET.index(character) for character in TEXT])
    generator = torch.Generator().manual_seed(seed)
    while True:
        starts = torch.randint(len(text) - size.context, (size.batch,), generator=generator)
        windows = torch.stack([text[start : start + size.context + 1] for start in starts.tolist()])
        yield windows[:, :-1].contiguous(), windows[:, 1:].contiguous()


class Training:
    """A model and its optimizer on one device; the weights depend on the seed only."""

    def __init__(self, device: str, size: Size, seed: int) -> None:
        torch.manual_seed(seed)
        self.device = device
        self.model = CharacterModel(size).to(device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=3e-3)
        self._batches = batches(size, seed)

    def step(self) -> float:
        """Train on the next batch and return its loss."""
        inputs, targets = (tensor.to(self.device) for tensor in next(self._batches))
        self.optimizer.zero_grad()
        loss = F.cross_entropy(self.model(inputs).flatten(0, 1), targets.flatten())
        loss.backward()
        self.optimizer.step()
        return loss.item()


def sample(model: nn.Module, size: Size, device: str, start: str, length: int) -> str:
    """Continue `start` by `length` characters, each time with the likeliest one."""
    characters = [ALPHABET.index(character) for character in start]
    with torch.inference_mode():
        for _ in itertools.repeat(None, length):
            context = torch.tensor([characters[-size.context :]], device=device)
            characters.append(int(model(context)[0, -1].argmax()))
    return "".join(ALPHABET[index] for index in characters)
