package io.github.statorruntime;

import java.util.AbstractList;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/** A tuple of a model; its fields may have names. */
public final class StatorTuple extends AbstractList<Object> {
  private final List<Object> items;
  private final List<String> names;

  StatorTuple(List<Object> items, List<String> names) {
    this.items = items;
    this.names = names;
  }

  /**
   * A tuple without names.
   *
   * @param items its items
   * @return the tuple
   */
  public static StatorTuple of(Object... items) {
    return new StatorTuple(Collections.unmodifiableList(Arrays.asList(items.clone())), List.of());
  }

  /**
   * A named tuple.
   *
   * @param names the names of the fields
   * @param items as many items
   * @return the tuple
   */
  public static StatorTuple named(List<String> names, List<?> items) {
    if (names.size() != items.size()) {
      throw StatorException.invalidArgument("%d names but %d items".formatted(names.size(), items.size()));
    }
    return new StatorTuple(Collections.unmodifiableList(new ArrayList<>(items)), List.copyOf(names));
  }

  /**
   * The names of the fields.
   *
   * @return as many names as items, or none
   */
  public List<String> names() {
    return names;
  }

  /**
   * A field by its name.
   *
   * @param name the name
   * @return the item
   */
  public Object get(String name) {
    int index = names.indexOf(name);
    if (index < 0) {
      throw StatorException.invalidArgument("the tuple has no field \"" + name + "\", only " + names);
    }
    return items.get(index);
  }

  @Override
  public Object get(int index) {
    return items.get(index);
  }

  @Override
  public int size() {
    return items.size();
  }
}
