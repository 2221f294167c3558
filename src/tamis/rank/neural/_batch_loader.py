"""Batches of a table as tensors: all rows at once where they fit on the device, else read step by step."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from tamis.engine import is_dask
from tamis.kernels.arrays.blocks import blocks
from tamis.rank.neural._standardized_rows import (
    StandardizedRows,
    batch_at,
    contiguous_batches,
    read_rows,
    rows_per_batch,
    spread_batches,
)

_MAX_HELD = 2**25  # numbers that are held on the CPU at once
_MOST_ROWS = 10_000  # of a step on the CPU: its time grows with them, and what it learns hardly does
_PIECE = 2**21  # numbers that are standardized at once
_SHARE = 0.25  # of the free memory of a GPU that a table may take


class BatchLoader:
    """Standardized batches on a device; a table that fits there is moved once, and keeps only the columns in use."""

    def __init__(self, rows: StandardizedRows, device: torch.device, batch_size: int | None, seed: int) -> None:
        self.rows, self.device, self.seed = rows, device, seed
        n_samples, n_columns = rows.shape
        self.size = min(n_samples, batch_size or self._automatic_size(n_samples, n_columns))
        self.batches = spread_batches(rows.table, self.size)
        self.columns = torch.arange(n_columns, device=device)  # in use, on the device: nobody waits to look at them
        self.tensor = torch.cat(list(self._read_in_order())) if self.size == n_samples else None

    def _automatic_size(self, n_samples: int, n_columns: int) -> int:
        """All rows where they fit on the device, though not very many on the CPU."""
        most = _MOST_ROWS if self.device.type == "cpu" else n_samples
        if not is_dask(self.rows.table) and n_samples * n_columns <= numbers_at_once(self.device):
            return most
        return min(most, rows_per_batch(n_columns))

    def in_order(self) -> Iterator[Tensor]:
        """All rows of the columns in use, batch after batch, in the order of the table."""
        return self._read_in_order() if self.tensor is None else iter([self.tensor])

    def at(self, step: int) -> tuple[Tensor, slice]:
        """The batch of one step, and which rows it holds."""
        if self.tensor is not None:
            return self.tensor, slice(None)
        batch = batch_at(self.batches, step, self.seed)
        return self._tensor(batch), batch

    def keep_columns(self, places: Tensor) -> None:
        """Use only some of the columns in use from now on."""
        self.columns = self.columns[places]
        if self.tensor is not None:
            self.tensor = torch.index_select(self.tensor, 1, places)

    def _read_in_order(self) -> Iterator[Tensor]:
        step = min(self.size, rows_per_batch(len(self.columns)))
        return (self._tensor(part) for part in contiguous_batches(self.rows.table, step))

    def _tensor(self, rows: slice) -> Tensor:
        """Columns are picked and standardized on the device, in double precision before the last rounding."""
        columns = self.columns.cpu().numpy()
        places = self.rows.columns[columns]
        values = read_rows(self.rows.table, rows)
        if places.size < values.shape[1] // 2:
            values, places = values[:, places], np.arange(places.size)
        picked, mean, spread = (
            torch.from_numpy(each).to(self.device)
            for each in (places, self.rows.mean[columns], self.rows.spread[columns])
        )
        batch = torch.empty(len(values), places.size, dtype=torch.float32, device=self.device)
        for part in blocks(len(values), _PIECE // values.shape[1]):
            piece = np.require(values[part], requirements=["C", "W"])  # torch does not wrap what may not be written
            batch[part] = torch.from_numpy(piece).to(self.device)[:, picked].double().sub_(mean).div_(spread)
        return batch


def numbers_at_once(device: torch.device) -> int:
    """How many numbers of a table may lie on the device."""
    if device.type != "cuda":
        return _MAX_HELD
    free, _ = torch.cuda.mem_get_info(device)
    return int(_SHARE * free / 4)
