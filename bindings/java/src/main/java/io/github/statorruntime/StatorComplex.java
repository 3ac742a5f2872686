package io.github.statorruntime;

/**
 * A complex number.
 *
 * @param real its real part
 * @param imaginary its imaginary part
 */
public record StatorComplex(double real, double imaginary) {}
