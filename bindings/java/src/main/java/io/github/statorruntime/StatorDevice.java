package io.github.statorruntime;

/**
 * A device that a model takes or gives.
 *
 * @param name as PyTorch spells it: "cpu"
 */
public record StatorDevice(String name) {}
