# Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds the coefficients of EmitNarrow.cpp, EmitHardware.cpp and
EmitActivation.cpp.

  minimax.py [NAME ...]        prints them as C++ hexadecimal floats

Polynomials come from the Remez exchange, in Chebyshev form. GELU of 16-bit
floats is a polynomial q(u) that is squared several times, the first squares plus
a constant each; its parameters minimize the largest error in units of the last
place by Gauss-Newton steps with Lawson's weights; as a power of two, its exponent is a
polynomial, by Lawson's weights too. Starts are drawn from fixed seeds. Needs numpy, and mpmath for what is rounded to f64.
"""

import math
import sys

import numpy as np

Chebyshev = np.polynomial.chebyshev


def extrema(error, count):
    """Indices of `count` alternating extrema of an error curve."""
    signs = np.nonzero(np.diff(np.sign(error)))[0] + 1
    picked = [part[np.argmax(np.abs(error[part]))]
              for part in np.split(np.arange(len(error)), signs)]
    while len(picked) > count:
        sizes = np.abs(error[picked])
        k = int(np.argmin(sizes))
        if len(picked) == count + 1:
            picked.pop(0 if sizes[0] < sizes[-1] else -1)
        elif k in (0, len(picked) - 1):
            picked.pop(k)
        else:
            picked.pop(k)
            picked.pop(k if k < len(picked) and abs(error[picked[k]]) <
                       abs(error[picked[k - 1]]) else k - 1)
    return np.array(picked)


def remez(function, low, high, degree, weight=None, points=20001):
    """The polynomial of `degree` with the least max |(p - f) weight| over
    [low, high]; weight is 1 / f by default. Returns (coefficients, error)."""
    x = 0.5 * (low + high) - 0.5 * (high - low) * np.cos(
        np.linspace(0, np.pi, points))
    y = function(x)
    w = 1 / np.abs(y) if weight is None else weight(x)
    basis = Chebyshev.chebvander((2 * x - low - high) / (high - low), degree)
    picked = np.linspace(0, points - 1, degree + 2).round().astype(int)
    best = (np.inf, None)
    for _ in range(60):
        signs = (-1.0)**np.arange(degree + 2) / w[picked]
        solution = np.linalg.solve(
            np.hstack([basis[picked], signs[:, None]]), y[picked])
        error = (y - basis @ solution[:-1]) * w
        largest = np.abs(error).max()
        if largest < best[0]:
            best = (largest, solution[:-1])
        if largest <= abs(solution[-1]) * 1.0001:
            break
        picked = extrema(error, degree + 2)
        if len(picked) < degree + 2:
            break
    series = Chebyshev.Chebyshev(best[1], domain=[low, high])
    return series.convert(kind=np.polynomial.Polynomial).coef, best[0]


def precise_remez(function, low, high, degree, points=400):
    """As remez, for the relative error, in 50 digits of mpmath."""
    import mpmath as mp
    mp.mp.dps = 50
    angle = [mp.pi * i / (points - 1) for i in range(points)]
    x = [(low + high) / 2 - (high - low) / 2 * mp.cos(a) for a in angle]
    y = [function(v) for v in x]
    # T_k(-cos a) = (-1)^k cos(k a).
    basis = [[(-1)**k * mp.cos(k * a) for k in range(degree + 1)]
             for a in angle]
    picked = np.linspace(0, points - 1, degree + 2).round().astype(int)
    for _ in range(10):
        system = mp.matrix([basis[i] + [(-1)**r * y[i]]
                            for r, i in enumerate(picked)])
        solution = mp.lu_solve(system, mp.matrix([y[i] for i in picked]))
        series = list(solution)[:-1]
        error = np.array([float(mp.fdot(series, b) / v - 1)
                          for b, v in zip(basis, y)])
        if np.abs(error).max() < abs(float(solution[degree + 1])) * 1.01:
            break
        picked = extrema(error, degree + 2)
    # From Chebyshev's polynomials of s = (2 x - low - high) / (high - low) to
    # powers of x.
    s = np.array([-(low + high) / (high - low), 2 / (high - low)])
    one, result = np.array([mp.mpf(1)]), np.array([mp.mpf(0)])
    before, last = one, s
    for coefficient in series:
        result = np.polynomial.polynomial.polyadd(result, coefficient * before)
        before, last = last, np.polynomial.polynomial.polysub(
            2 * np.polynomial.polynomial.polymul(s, last), before)
    return result, np.abs(error).max()


class Powers:
    """Q(u) as q(u)^(2^squares), some of the first squares plus a constant."""

    def __init__(self, tail, precision, least, degree, squares, free):
        """`tail` is Q; the format has `precision` bits and `least` as the
        exponent of its smallest normal number. From `high` on u Q(u) rounds to
        0."""
        self.degree, self.squares, self.free = degree, squares, free
        low, high = 0.0, 20.0
        for _ in range(60):
            middle = (low + high) / 2
            if middle * tail(np.array([middle]))[0] > 2.0**(least - precision -
                                                            0.3):
                low = middle
            else:
                high = middle
        self.high = math.ceil(high * 32) / 32
        t = np.linspace(0, 1, 1201)
        self.u = np.unique(np.concatenate(
            [t, (1 - np.cos(np.pi * t)) / 2]))[1:]
        self.tail = tail(self.u * self.high)
        g = self.u * self.high * self.tail
        # One unit of the last place, relative, at the top of a binade.
        self.unit = np.maximum(g, 2.0**least * 2) / g * 2.0**-precision

    def residual(self, theta):
        y = np.polynomial.polynomial.polyval(self.u, theta[:self.degree + 1])
        for i in range(self.squares):
            y = y * y
            if i < self.free:
                y = y + theta[self.degree + 1 + i]
        return np.where(
            y > 0, np.log(np.maximum(y, 1e-300) / self.tail), -50) / self.unit

    def descend(self, theta, steps):
        weights, damping, best = np.ones_like(self.u), 1e-3, (np.inf, None)
        r = self.residual(theta)
        for step in range(steps):
            jacobian = np.empty((len(r), len(theta)))
            for j in range(len(theta)):
                h = np.zeros_like(theta)
                h[j] = 1e-6 * max(1e-3, abs(theta[j]))
                jacobian[:, j] = (self.residual(theta + h) -
                                  self.residual(theta - h)) / (2 * h[j])
            normal = jacobian.T @ (jacobian * weights[:, None])
            gradient = jacobian.T @ (weights * r)
            if not (np.isfinite(normal).all() and np.isfinite(gradient).all()):
                break
            for _ in range(12):
                try:
                    move = np.linalg.solve(
                        normal + damping * np.diag(np.diag(normal) + 1e-30),
                        -gradient)
                except np.linalg.LinAlgError:
                    damping *= 6
                    continue
                moved = self.residual(theta + move)
                if (weights * moved**2).sum() < (weights * r**2).sum():
                    theta, r = theta + move, moved
                    damping = max(damping / 5, 1e-14)
                    break
                damping *= 6
            largest = np.abs(r).max()
            if largest < best[0]:
                best = (largest, theta.copy())
            if step > 8:
                weights = weights * np.minimum(np.abs(r) / largest + 0.02, 1)
                weights = np.maximum(weights / weights.max(), 1e-12)
        return best

    def solve(self, starts=6, steps=250, seed=0):
        """Returns (coefficients of q, constants, error in ulp, high)."""
        random = np.random.default_rng(seed)
        root = self.tail**(2.0**-self.squares)
        powers = np.vander(self.u, self.degree + 1, increasing=True)
        first = np.concatenate([
            np.linalg.lstsq(powers / root[:, None], np.ones_like(root),
                            rcond=None)[0],
            np.zeros(self.free)])
        best = (np.inf, None)
        for start in range(starts):
            theta = first.copy()
            if start:
                theta *= 1 + 0.1 * random.standard_normal(len(theta))
                theta[self.degree + 1:] += 0.3 * random.standard_normal(
                    self.free)
            best = min(best, self.descend(theta, steps), key=lambda b: b[0])
        # Once more from the best one, so that the weights start anew.
        best = min(best, self.descend(best[1], 3 * steps), key=lambda b: b[0])
        error, theta = best
        q = theta[:self.degree + 1] / self.high**np.arange(self.degree + 1)
        return q, theta[self.degree + 1:], error, self.high


def erf_tail(u):
    return 0.5 * np.vectorize(math.erfc)(u / np.sqrt(2))


def numbers(precision, low, high):
    """All numbers of `precision` bits in [low, high]."""
    steps = 1 + np.arange(2**(precision - 1)) * 2.0**(1 - precision)
    exponents = range(math.floor(math.log2(low)), math.ceil(math.log2(high)))
    every = np.concatenate([2.0**e * steps for e in exponents])
    return every[(low <= every) & (every <= high)]


def exponent(name, precision, least, high, degree, steps=3000):
    """The polynomial P(-u) of `degree` with the least error, in units of the
    last place, of u Q(u) and u - u Q(u), with Q(u) = 2^P(-u) the tail of the
    normal distribution, on the numbers of a format in [2^-11, high]; for the format see
    Powers."""
    u = numbers(precision, 2.0**-11, high)
    tail = erf_tail(u)
    # u - u Q(u) is larger, and so are its units.
    unit = 2.0**(np.maximum(np.floor(np.log2(u * tail)), least) - precision + 1)
    weight = math.log(2) * u * tail / unit
    basis = Chebyshev.chebvander(2 * u / high - 1, degree)
    lawson, best = np.ones_like(u) / len(u), (np.inf, None)
    for _ in range(steps):
        scale = np.sqrt(lawson) * weight
        solution = np.linalg.lstsq(basis * scale[:, None],
                                   np.log2(tail) * scale, rcond=None)[0]
        error = np.abs((basis @ solution - np.log2(tail)) * weight)
        largest = error.max()
        best = min(best, (largest, solution), key=lambda b: b[0])
        lawson = lawson * (error / largest + 1e-3)
        lawson /= lawson.sum()
    series = Chebyshev.Chebyshev(best[1], domain=[0, high])
    coefficients = series.convert(kind=np.polynomial.Polynomial).coef
    show(name, coefficients * (-1.0)**np.arange(degree + 1),
         f"{best[0]:.3f} ulp up to {high}")


def over_argument(t):
    """tanh(x) / x of t = x^2."""
    x = np.sqrt(np.maximum(t, 1e-8))
    return np.tanh(x) / x


def mills(name, high, degree, precision, rounded):
    """(u + 4) Q(u) exp(u^2 / 2) of t = (u - 4) / (u + 4), u in [0, high]."""
    import mpmath as mp

    def ratio(t):
        u = 4 * (1 + t) / (1 - t)
        return mp.erfc(u / mp.sqrt(2)) * mp.exp(u * u / 2) / 2 * (u + 4)

    mp.mp.dps = 50
    coefficients, error = precise_remez(
        ratio, mp.mpf(-1), (mp.mpf(high) - 4) / (mp.mpf(high) + 4), degree)
    show(name, coefficients,
         f"relative error {error:.2g}, {error * 2**precision:.3f} ulp", rounded)


def show(name, values, note, rounded=np.float32):
    print(f"// {name}: {note}")
    print("{" + ", ".join(float(rounded(v)).hex() for v in values) + "}")


def polynomial(name, function, low, high, degree, precision, middle=0.0):
    """Over [low, high], in the distance from `middle`."""
    coefficients, error = remez(function, low, high, degree)
    coefficients = np.polynomial.Polynomial(coefficients)(
        np.polynomial.Polynomial([middle, 1.0])).coef
    show(name, coefficients,
         f"relative error {error:.2g}, {error * 2**precision:.3f} ulp")


def powers(name, *arguments):
    q, constants, error, high = Powers(*arguments).solve()
    show(name, q, f"{error:.3f} ulp up to {high}")
    show(name + " constants", constants, "added to the first squares")


TASKS = {
    "exp2_bf16": lambda n: polynomial(n, np.exp2, -0.5001, 0.5001, 3, 8),
    "exp2_f16": lambda n: polynomial(n, np.exp2, -0.5001, 0.5001, 4, 11),
    "inverse_bf16": lambda n: polynomial(n, lambda e: 1 / (1 + e), 0, 1.0002,
                                         4, 8),
    "inverse_f32": lambda n: polynomial(n, lambda e: 1 / (1 + e), 0, 1, 2,
                                        24),
    "inverse_f16": lambda n: polynomial(n, lambda e: 1 / (1 + e), 0, 1.0002,
                                        6, 11),
    "tanh_bf16": lambda n: polynomial(n, over_argument, 0, 3.75**2, 9, 8, 7.0),
    "tanh_f16": lambda n: polynomial(n, over_argument, 0, 4.75**2, 15, 11,
                                     11.0),
    "mills_f32": lambda n: mills(n, 14.5, 10, 24, np.float32),
    "mills_f64": lambda n: mills(n, 38.75, 23, 53, float),
    "gelu_erf_bf16": lambda n: powers(n, erf_tail, 8, -126, 6, 6, 3),
    "gelu_erf_f16": lambda n: powers(n, erf_tail, 11, -14, 5, 4, 2),
    "exponent_bf16": lambda n: exponent(n, 8, -126, 13.59375, 6),
    "exponent_f16": lambda n: exponent(n, 11, -14, 5.78125, 5, 800),
}


def main():
    np.seterr(all="ignore")
    for name in sys.argv[1:] or TASKS:
        TASKS[name](name)


if __name__ == "__main__":
    sys.exit(main())
