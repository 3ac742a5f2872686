package io.github.statorruntime;

/** Anything that a model returns and Java has no type for; it can only be passed back to the model. */
public final class StatorObject extends Handle {
  StatorObject(long address) {
    super(address, Native::stator_value_release);
  }
}
