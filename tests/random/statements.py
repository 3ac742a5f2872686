"""The statements that random methods are made of. Each takes a Writer and says whether it added something."""

from __future__ import annotations

from collections.abc import Callable

from writer import Writer

Statement = Callable[[Writer], bool]


def pointwise(w: Writer) -> bool:
    x = w.tensor()
    name = w.rng.choice(
        ["tanh({})", "sigmoid({})", "relu({})", "abs({})", "neg({})", "sin({})", "square({})", "floor({})", "sign({})", "logical_not({})",
         "clamp({}, -1.5, 1.5)", "nn.functional.gelu({})", "nn.functional.silu({})", "nn.functional.leaky_relu({}, 0.1)", "erf({})",
         "nn.functional.elu({})", "nn.functional.mish({})", "nn.functional.softplus({})", "expm1(torch.clamp({}, -4, 3))",
         "nan_to_num({})", "isfinite({})", "asinh({})", "sinc({})", "signbit({})", "log1p(torch.abs({}))", "rsqrt(torch.abs({}) + 1.0)", "exp(torch.clamp({}, -3, 2))", "isnan({})"]
    )  # fmt: skip
    return w.assign("torch." + name.format(x))


def binary(w: Writer) -> bool:
    x, y = w.tensor(), w.tensor()
    form = w.rng.choice(
        ["{} + {}", "{} - {}", "{} * {}", "{} / (torch.abs({}) + 1.0)", "torch.maximum({}, {})", "torch.minimum({}, {})", "{} > {}",
         "{} <= {}", "{} == {}", "torch.add({}, {}, alpha=2)", "torch.atan2({}, {})", "torch.logical_and({}, {})", "torch.sub({}, {})",
         "torch.lerp({}, {}, 0.3)", "torch.bitwise_xor({}, {})", "torch.remainder({}, torch.abs({}) + 1)",
         "torch.fmod({}, torch.abs({}) + 1)", "torch.hypot({}, {})", "torch.logaddexp({}, {})",
         "torch.copysign({}, {})", "torch.heaviside({}, {})", "torch.fmax({}, {})", "torch.multiply({}, {})", "{} & {}", "{} | {}",
         "torch.floor_divide({}, torch.abs({}) + 1)", "torch.div({}, torch.abs({}) + 1, rounding_mode='trunc')", "torch.xlogy({}, torch.abs({}))"]
    )  # fmt: skip
    return w.assign(form.format(x, y))


def with_number(w: Writer) -> bool:
    x = w.tensor()
    number = w.rng.choice(["2", "0.5", "-1.25", "3", w.one("I") or "1", w.one("F") or "0.1"])
    form = w.rng.choice(
        ["{} + {}", "{} * {}", "{1} - {0}", "{} > {}", "{} / ({} * 2 + 0.25)", "torch.rsub({}, {})", "{} ** 2 + {}", "{} // 3 + {}",
         "torch.clamp({}, -4, 4) % 2.5 - {}", "torch.fmod({}, -3) * {}", "torch.bitwise_and({}, 6) + {}", "({} << 2) + {}"]
    )  # fmt: skip
    return w.assign(form.format(x, number))


def ternary(w: Writer) -> bool:
    x, y, z = w.tensor(), w.tensor(), w.tensor()
    form = w.rng.choice(
        ["torch.where({0} > 0, {1}, {2})", "torch.addcmul({0}, {1}, {2})", "{0} * {1} + {2}", "torch.where({0} > 0.5, {1}, 0.0)",
         "torch.clamp({0}, {1}, {2})", "torch.lerp({0}, {1}, {2})", "torch.tanh({0} * torch.sigmoid({1})) - {2}", "{0}.masked_fill({1} > 0, -1)"]
    )  # fmt: skip
    return w.assign(form.format(x, y, z))


def view(w: Writer) -> bool:
    x = w.tensor(lambda t: t.dim() >= 1)
    if not x:
        return False
    form = w.rng.choice(
        ["{}.view(-1)", "{}.reshape({}.size(0), -1)", "{}.reshape(-1)", "{}.transpose(0, 1)", "{}.t()", "{}.unsqueeze(0)", "{}.unsqueeze(-1)",
         "{}.squeeze(0)", "{}.squeeze()", "{}[0]", "{}[-1]", "{}[1:]", "{}[:-1]", "{}[::2]", "{}[..., 0]", "{}[..., 1:]", "{}[:, ::2]",
         "{}.select(-1, 0)", "{}.narrow(0, 0, 1)", "{}.flatten()", "{}.detach()", "{}.expand(3, -1)", "{}.unsqueeze(1).expand(-1, 2, -1)",
         "{}.movedim(0, -1)", "{}.diagonal()", "{}.unfold(0, 2, 1)", "{}.contiguous()", "{}.clone()", "{}.view_as({})", "{}[None]",
         "{}.flip(0)", "{}.roll(1, 0)", "{}.alias()", "{}.view({}.size(0), 1, -1)", "{}.expand(2, -1, -1)", "{}.permute(1, 0)",
         "{}.transpose(0, 1).contiguous()", "{}.repeat(2, 1)", "{}.repeat_interleave(2, 0)", "{}.flip(-1)", "{}.flip(0, 1)", "nn.functional.pad({}, (1, 1), 'reflect')",
         "nn.functional.pad({}, (2, 1), 'replicate')", "{}.swapaxes(0, -1)"]
    )  # fmt: skip
    return w.assign(form.format(x, x))


def several_views(w: Writer) -> bool:
    x = w.tensor(lambda t: t.dim() >= 1 and t.size(0) >= 2)
    if not x:
        return False
    a, b = w.fresh(), w.fresh()
    form = w.rng.choice(["torch.chunk({}, 2, 0)", "torch.split({}, [1, {}.size(0) - 1])", "torch.tensor_split({}, 2)"])
    name = w.fresh()
    unpack = [f"{name} = {form.format(x, x)}", f"{a} = {name}[0]", f"{b} = {name}[1]"]
    if "chunk" in form and w.rng.random() < 0.5:
        unpack = [f"{a}, {b} = {form.format(x)}"]
    return w.add(unpack, {a: "T", b: "T"})


def in_place(w: Writer) -> bool:
    x, y = w.tensor(), w.tensor()
    form = w.rng.choice(
        ["{}.add_({})", "{}.mul_({})", "{}.sub_(1)", "{}.mul_(0.5)", "{}.tanh_()", "{}.relu_()", "{}.zero_()", "{}.fill_(1)", "{}.clamp_(-1, 1)",
         "{}.copy_({})", "{}[0] = 1", "{}[0] += 1", "{}[..., 0] = {}", "{}[1:] = {}", "{}[:1].mul_(2)", "{}.transpose(0, 1).mul_(2)",
         "{}.masked_fill_({} > 0, 0)", "{}[..., -1].add_({})", "{}.view(-1)[0] = 3", "{} += {}", "{} *= 2", "{}.unsqueeze_(0)",
         "{}.transpose_(0, 1)", "{}.squeeze_(0)", "{}.neg_()", "{}.abs_()", "{}[:, 0] = {}[0]", "{}.t().copy_({})", "{}.addcmul_({}, {})",
         "{}.detach().sigmoid_()", "{}[::2] = 0.5", "{}.select(0, 0).zero_()", "{}.index_fill_(0, torch.tensor([0]), 2)"]
    )  # fmt: skip
    return w.add([form.format(x, y, y)])


def reduction(w: Writer) -> bool:
    x = w.tensor(lambda t: t.dim() >= 1)
    if not x:
        return False
    dim = w.rng.choice(["0", "-1", "1"])
    form = w.rng.choice(
        ["{}.sum()", "{}.sum({d})", "{}.mean({d})", "{}.mean({d}, keepdim=True)", "{}.amax({d})", "{}.max({d})[0]", "{}.argmax({d})",
         "{}.cumsum({d})", "torch.softmax({}, {d})", "torch.log_softmax({}, {d})", "{}.var({d}, unbiased=False)", "{}.norm()", "{}.any()",
         "{}.all({d})", "{}.prod({d})", "torch.layer_norm({}, [{}.size(-1)])", "{}.min()", "{}.sort({d})[0]",
         "torch.sort(torch.round({}), stable=True, dim={d}, descending=True)[1]", "torch.argsort(torch.round({}), {d})", "{}.logsumexp({d})",
         "{}.topk(1, {d})[1]", "{}.count_nonzero()"]
    )  # fmt: skip
    return w.assign(form.format(x, x, d=dim))


def join(w: Writer) -> bool:
    x, y = w.tensor(), w.tensor()
    form = w.rng.choice(
        ["torch.cat([{0}, {1}], 0)", "torch.cat([{0}, {1}, {0}], -1)", "torch.stack([{0}, {1}])", "torch.stack([{0}, {0} * 2], -1)",
         "torch.cat([{0}.reshape(-1), {1}.reshape(-1)])", "torch.cat(({0}, {1}), dim=1)", "torch.hstack([{0}, {1}])"]
    )  # fmt: skip
    return w.assign(form.format(x, y))


def convert(w: Writer) -> bool:
    form = w.rng.choice(
        ["{}.double()", "{}.float()", "{}.to(torch.int64)", "{}.to(torch.float32)", "{}.to({})", "{}.type_as({})", "{}.to(torch.bfloat16)",
         "{}.to(torch.bool)", "{}.to(torch.float64, copy=True)", "{}.int()", "{}.half()"]
    )  # fmt: skip
    return w.assign(form.format(w.tensor(), w.tensor()))


def factory(w: Writer) -> bool:
    form = w.rng.choice(
        ["torch.zeros_like({})", "torch.ones_like({})", "torch.zeros({}.size(0), 3)", "torch.full([2, {}.size(-1)], 0.5)", "torch.arange({}.size(0))",
         "{}.new_zeros([{}.size(0)])", "torch.tensor([1.0, -2.0, 0.5])", "torch.eye(3)", "torch.ones([2, 3])", "torch.full_like({}, 2)",
         "torch.linspace(0, 1, 4)", "torch.zeros([4], dtype=torch.int64)", "torch.tensor({i})", "torch.tensor({f})"]
    )  # fmt: skip
    x = w.tensor(lambda t: t.dim() >= 1)
    return bool(x) and w.assign(form.format(x, x, i=w.one("I") or "1", f=w.one("F") or "0.5"))


def index(w: Writer) -> bool:
    x, y = w.tensor(lambda t: t.dim() >= 1), w.tensor()
    if not x:
        return False
    form = w.rng.choice(
        ["{0}[{1} > 0]", "{0}[torch.tensor([0, 0])]", "{0}.index_select(0, torch.tensor([0]))", "torch.nonzero({0})", "{0}.masked_select({0} > 0)",
         "{0}.gather(0, {0}.argmax(0, keepdim=True))", "{0}[{1}]", "torch.index_add({0}, 0, torch.tensor([0]), {0}[:1])", "{0}.take({1})",
         "{0}.scatter(0, {0}.argmax(0, keepdim=True), 1)", "torch.tril({0})", "{0}.scatter_add(0, torch.zeros_like({0}, dtype=torch.long), {0})",
         "torch.index_put({0}, (torch.tensor([-1, 0]),), {0}[:1])", "torch.index_put({0}, ({0} > 0,), {0}.sum())",
         "{0}.scatter_reduce(0, {0}.argmax(0, keepdim=True), {0}[:1], 'amax')", "torch.nn.functional.cosine_similarity({0}, {0} + 1, -1)",
         "{0}.index_fill(-1, torch.tensor([0]), 2)"]
    )  # fmt: skip
    return w.assign(form.format(x, y))


def product(w: Writer) -> bool:
    x, y = w.tensor(lambda t: t.dim() in (1, 2, 3)), w.tensor(lambda t: t.dim() in (1, 2, 3))
    if not x or not y:
        return False
    form = w.rng.choice(
        ["{0} @ {1}", "{0} @ {1}.t()", "torch.bmm({0}, {1}.transpose(1, 2))", "torch.matmul({0}, {0}.transpose(-1, -2))",
         "torch.einsum('ij,jk->ki', {0}, {1})", "torch.einsum('ij,ij->ji', {0}, {1})", "torch.einsum('ij,kj->ik', {0}, {0})",
         "torch.nn.functional.linear({0}, {1})", "torch.addmm({0}, {0}, {1}.t() @ {1})"]
    )  # fmt: skip
    added = w.assign("(" + form.format(x, y) + ") * 0.25")
    w.exact &= not added
    return added


def number(w: Writer) -> bool:
    x, name = w.tensor(), w.fresh()
    kind, form = w.rng.choice(
        [("I", "{}.numel()"), ("I", "{}.dim()"), ("I", "{}.size(0)"), ("I", "int({}.sum()) % 4"), ("I", "{}.shape[-1] // 2"),
         ("F", "float({}.sum())"), ("F", "float({}.numel()) * 0.25"), ("B", "bool(({} > 0).any())"), ("B", "{}.numel() > 7"),
         ("I", "int({}.argmax())"), ("I", "len({}.shape) + {i} % 5"), ("F", "{f} * 0.5 + {i}"), ("I", "len({l})"), ("B", "'a' in {d}")]
    )  # fmt: skip
    used = {"i": w.one("I"), "f": w.one("F"), "l": w.one("L"), "d": w.one("D")}
    return w.add([f"{name} = {form.format(x, **used)}"], {name: kind})


def alias(w: Writer) -> bool:
    x, y = w.tensor(), w.one("T")
    if w.rng.random() < 0.4 and x and y and x.startswith("v"):
        return w.add([f"{x}, {y} = {y}, {x}"])
    name = w.target()
    return w.add([f"{name} = {x}"], {name: "T"})


def new_list(w: Writer) -> bool:
    name, x, y = w.fresh(), w.tensor(), w.tensor()
    form = w.rng.choice(
        ["[{x}, {y}]", "[{x}, {x} + 1, {y}]", "[{x}]", "{l} + [{x}]", "{l}", "{l}[1:]", "[t * 2 for t in {l}]", "list(torch.unbind({x}))",
         "{x}.split(1)", "list({d}.values())", "[{p}[0], {p}[1]]", "{l}.copy()"]
    )  # fmt: skip
    text = form.format(x=x, y=y, l=w.one("L"), d=w.one("D"), p=w.one("P"))
    if "None" in text:
        return False
    return w.add([f"{name} = {text}"], {name: "L"}, pure=True)


def change_list(w: Writer) -> bool:
    items, x = w.one("L"), w.tensor()
    if not items:
        return False
    form = w.rng.choice(
        ["{0}.append({1})", "{0}.append({1})", "{0}[0] = {1}", "{0}[-1] = {1} * 2", "{0}.insert(0, {1})", "{0}.reverse()", "{0}.extend({0})", "{0}.pop()",
         "{0}[0].mul_(2)", "{0}[-1].add_(1)", "{0} += [{1}]", "{0} = {0} + [{1}]", "{0} = [{1}]", "{0}.extend([{1}, {1}])"]
    )  # fmt: skip
    return w.add([form.format(items, x)], {items: "L"})


def from_list(w: Writer) -> bool:
    items = w.one("L")
    form = w.rng.choice(
        ["{0}[0]", "{0}[-1]", "torch.stack({0})", "torch.cat({0}, 0)", "torch.cat({0}, -1)", "{0}.pop()", "torch.cat([t.reshape(-1) for t in {0}])",
         "{0}[len({0}) // 2]", "{0}[0] + {0}[-1]"]
    )  # fmt: skip
    return bool(items) and w.assign(form.format(items))


def dictionary(w: Writer) -> bool:
    items, x, key = w.one("D"), w.tensor(), w.rng.choice("abc")
    if not items:
        name = w.fresh()
        return w.add([f"{name} = {{'a': {x}, 'b': {w.tensor()}}}"], {name: "D"})
    if w.rng.random() < 0.5:
        form = w.rng.choice(["{}['{}'] = {}", "{}['{}'].add_(1)", "{}['{}'] = {} * 2", "{}.pop('{}')", "{}.update({{'{}': {}}})"])
        return w.add([form.format(items, key, x)])
    return w.assign(
        w.rng.choice(["{}['{}']", "{}['{}'] + 1", "{}.pop('{}')", "torch.cat([t.reshape(-1) for t in {}.values()])"]).format(items, key)
    )


def pair(w: Writer) -> bool:
    name, x, y, old = w.fresh(), w.tensor(), w.tensor(), w.one("P")
    if old and w.rng.random() < 0.6:
        if w.rng.random() < 0.5:
            return w.assign(f"{old}[{w.rng.randrange(2)}]")
        a, b = w.fresh(), w.fresh()
        return w.add([f"{a}, {b} = {old}"], {a: "T", b: "T"})
    form = w.rng.choice(["({0}, {1})", "({0}, {0})", "({0} + 1, {1})", "({0}[0], {0})"])
    return w.add([f"{name} = {form.format(x, y)}"], {name: "P"})


def optional(w: Writer) -> bool:
    old, x = w.one("O"), w.tensor()
    if not old:
        name = w.fresh()
        first = w.rng.choice(["None", x])
        return w.add([f"{name}: Optional[Tensor] = {first}"], {name: "O"})
    if w.rng.random() < 0.5:
        return w.add([f"{old} = {w.rng.choice(['None', x])}"], {old: "O"})
    name = w.fresh()
    return w.add([f"{name} = {old} * 2 if {old} is not None else {x}"], {name: "T"})


def state(w: Writer) -> bool:
    buffer, x = w.one("S"), w.tensor()
    if not buffer:
        return False
    form = w.rng.choice(
        ["{0}.add_(1)", "{0} = {0} * 0.5", "{0} = {1}", "{0}.copy_({1})", "self.count += 1", "self.kept.append({1})", "self.kept = [{1}, {0}]",
         "{0} = torch.tanh({1})", "{0}[0] = {1}.sum()", "self.kept[0].mul_(0.5)", "{0} = {1}.reshape(-1)"]
    )  # fmt: skip
    return w.add([form.format(buffer, x)])


def read_state(w: Writer) -> bool:
    buffer = w.one("S")
    if not buffer:
        return False
    return w.assign(
        w.rng.choice(["{0}", "{0} + 1", "self.kept[-1]", "self.kept[0] * 2", "{0} * self.count", "torch.cat([{0}, {0}])"]).format(buffer)
    )


# --------------------------------------------------------------------------------------------------------- control flow


def condition(w: Writer) -> str:
    x = w.tensor(lambda t: t.numel() > 0)
    forms = ["{}.numel() > 9", "{}.size(0) % 2 == 0", "float({}.sum()) > 0.5", "bool(({} > 0.25).any())", "{i} % 2 == 0", "{b}", "not {b}",
             "{i} > 2 and {b}", "({} < 0).all()", "{f} > 0.1"]  # fmt: skip
    return w.rng.choice(forms).format(x, i=w.one("I") or "1", b=w.one("B") or "True", f=w.one("F") or "0.5")


def block(w: Writer, most: int = 4) -> None:
    for _ in range(w.rng.randint(1, most)):
        statement(w)


def branch(w: Writer) -> bool:
    """Changes what it likes, and hands over a value chosen by the branch."""
    if w.depth > 2:
        return False
    lines, name = [f"if {condition(w)}:"], w.fresh()
    for _ in range(2):
        with w.inner() as body:
            block(w)
            w.add([f"{name} = {w.tensor() or w.one('T')}"])
        lines += body + (["else:"] if len(lines) == 1 or (lines[-1] != "else:" and "else:" not in lines) else [])
    return w.add(lines, {name: "T"})


def one_sided(w: Writer) -> bool:
    if w.depth > 2:
        return False
    lines = [f"if {condition(w)}:"]
    with w.inner() as body:
        block(w)
        leave = w.rng.random()
        if w.loops and leave < 0.4:
            w.lines.append(w.rng.choice(["break", "continue"]))
        elif leave > 0.85 and (result := w.returns()):
            w.lines.append(f"return {result}")
    return w.add(lines + body)


def loop(w: Writer) -> bool:
    if w.depth > 1:
        return False
    i = w.fresh()
    kinds = {i: "I"}
    heads = [
        f"for {i} in range({w.rng.randint(0, 4)}):",
        f"for {i} in range(min({w.one('I') or '2'}, 4)):",
        f"while {i} < 3 and {condition(w)}:",
    ]
    items = w.one("L")
    if items and all(w.values(items)):
        heads.append(f"for {i} in {items}[:5]:")
    head = w.rng.choice(heads)
    before, start = [], [f"{i} = 0"]
    if head.endswith(f"{items}[:5]:"):
        kinds, start = {i: "T"}, [f"{i} = {items}[0]"]
    elif head.startswith("while"):
        before = [f"{i} = 0"]
    w.loops += 1
    with w.inner(start) as body:
        w.scope.update(kinds)
        if before:
            w.lines.append(f"{i} += 1")
        block(w, 5)
    w.loops -= 1
    return w.add([*before, head, *body])


WEIGHTED: list[tuple[int, Statement]] = [
    (8, pointwise), (9, binary), (5, with_number), (4, ternary), (10, view), (3, several_views), (9, in_place), (6, reduction), (4, join),
    (3, convert), (3, factory), (3, index), (1, product), (4, number), (3, alias), (4, new_list), (5, change_list), (4, from_list),
    (3, dictionary), (3, pair), (2, optional), (2, state), (2, read_state), (4, branch), (3, one_sided), (4, loop),
]  # fmt: skip
_STATEMENTS = [each for _, each in WEIGHTED]
_WEIGHTS = [weight for weight, _ in WEIGHTED]


def statement(w: Writer) -> None:
    """Adds one statement; gives up after a few that do not fit."""
    for _ in range(6):
        if w.rng.choices(_STATEMENTS, _WEIGHTS)[0](w):
            return
