"""Layers: problem strings (docs/semantics.md), their geometry and their tensors. Standard library and
NumPy alone, so that every peer's interpreter can read them."""

import dataclasses
import pathlib
import re

DTYPES = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64"}
BYTES = {"float16": 2, "bfloat16": 2, "float32": 4, "float64": 8}

STRING = re.compile(
    r"(?:n(?P<n>\d+)_)?h(?P<h>\d+)w(?P<w>\d+)c(?P<c>\d+)_k(?P<kh>\d+)x(?P<kw>\d+)_oc(?P<oc>\d+)"
    r"(?:_s(?P<sh>\d+)x(?P<sw>\d+))?(?:_p(?P<pad>same|valid|\d+,\d+,\d+,\d+))?"
    r"(?:_d(?P<dh>\d+)x(?P<dw>\d+))?(?:_g(?P<g>\d+))?(?:_(?P<layout>nhwc|nchw))?"
    r"(?:_(?P<dtype>f16|bf16|f32|f64))?")


@dataclasses.dataclass(frozen=True)
class Axis:
    """One spatial axis: size of in_backprop, filter size, stride, dilation, padding."""

    size: int
    taps: int
    stride: int = 1
    dilation: int = 1
    before: int = 0
    after: int = 0

    @property
    def reach(self):
        return (self.taps - 1) * self.dilation + 1

    @property
    def out(self):
        return (self.size + self.before + self.after - self.reach) // self.stride + 1

    @property
    def same(self):
        """The padding that SAME would give."""
        total = max(0, (-(-self.size // self.stride) - 1) * self.stride + self.reach - self.size)
        return total // 2, total - total // 2

    @property
    def output_padding(self):
        """What transposed convolutions of other libraries add to their own size."""
        full = (self.out - 1) * self.stride - self.before - self.after + self.reach
        return self.size - full

    def landing(self):
        """Pairs of an output and a tap that meet in_backprop."""
        return sum(
            0 <= o * self.stride + k * self.dilation - self.before < self.size
            for o in range(self.out) for k in range(self.taps))


@dataclasses.dataclass(frozen=True)
class Layer:
    name: str
    problem: str
    batch: int
    rows: Axis
    columns: Axis
    channels: int
    out_channels: int
    groups: int
    layout: str  # "NHWC", "NCHW"
    dtype: str

    @property
    def nchw(self):
        return self.layout == "NCHW"

    @property
    def strides(self):
        return [self.rows.stride, self.columns.stride]

    @property
    def dilations(self):
        return [self.rows.dilation, self.columns.dilation]

    @property
    def pads(self):
        """Top, bottom, left, right."""
        return [self.rows.before, self.rows.after, self.columns.before, self.columns.after]

    @property
    def filter_shape(self):
        return [self.rows.taps, self.columns.taps, self.channels // self.groups, self.out_channels]

    def ordered(self, batch, rows, columns, channels):
        """Four values in the layout's order."""
        return [batch, channels, rows, columns] if self.nchw else [batch, rows, columns, channels]

    @property
    def sizes(self):
        """Shape of in_backprop."""
        return self.ordered(self.batch, self.rows.size, self.columns.size, self.channels)

    @property
    def flops(self):
        """Two for every multiplication whose tap lands in in_backprop."""
        return (2.0 * self.batch * self.rows.landing() * self.columns.landing() *
                (self.channels // self.groups) * self.out_channels)

    @property
    def read_bytes(self):
        filters = self.rows.taps * self.columns.taps * self.channels // self.groups
        return BYTES[self.dtype] * self.out_channels * (
            self.batch * self.rows.out * self.columns.out + filters)

    @property
    def written_bytes(self):
        return (BYTES[self.dtype] * self.batch * self.rows.size * self.columns.size *
                self.channels)


def parse(text, name=None, layout=None, dtype=None):
    """The layer of a problem string; layout ("NCHW") and dtype ("float16") override its own."""
    match = STRING.fullmatch(text)
    if not match:
        raise ValueError(f"'{text}' is no problem string of a real type")
    part = match.groupdict()
    number = lambda key, default=1: int(part[key] or default)
    rows = Axis(number("h"), number("kh"), number("sh"), number("dh"))
    columns = Axis(number("w"), number("kw"), number("sw"), number("dw"))
    pads = [0] * 4
    if part["pad"] == "same":
        pads = [*rows.same, *columns.same]
    elif part["pad"] not in (None, "valid"):
        pads = [int(pad) for pad in part["pad"].split(",")]
    rows = dataclasses.replace(rows, before=pads[0], after=pads[1])
    columns = dataclasses.replace(columns, before=pads[2], after=pads[3])
    return Layer(name or text, text, number("n"), rows, columns, number("c"), number("oc"),
                 number("g"), layout or (part["layout"] or "nhwc").upper(),
                 dtype or DTYPES[part["dtype"] or "f32"])


def from_case(case):
    """The layer of a row of the first form of results: N, H, W, C, KH, KW, OC, s, p, d, g."""
    (sh, sw), (dh, dw), pads = case["s"], case["d"], case["p"]
    rows = Axis(case["H"], case["KH"], sh, dh, *pads[:2])
    columns = Axis(case["W"], case["KW"], sw, dw, *pads[2:])
    return Layer(case["name"], "", case["N"], rows, columns, case["C"], case["OC"], case["g"],
                 case["layout"], case["dtype"])


def read_shapes(path, layout=None, dtype=None):
    """The layers of a shape file, named as their comments say."""
    layers = []
    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        text, _, name = line.partition("#")
        if text.strip() and not text.startswith("!"):
            layers.append(parse(text.strip(), name.strip(), layout, dtype))
    return layers


def tensors(layer):
    """filter (HWIO) and out_backprop (NHWC), float32 from a fixed seed: the same for all peers."""
    import numpy as np

    random = np.random.default_rng(7)
    filters = random.standard_normal(layer.filter_shape, dtype=np.float32)
    out = random.standard_normal(
        (layer.batch, layer.rows.out, layer.columns.out, layer.out_channels), dtype=np.float32)
    return filters, out
