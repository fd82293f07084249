/** Values of a chart, as YAML has them. */
export type Values = Readonly<Record<string, unknown>>;

/** Whether a value is a mapping. */
function isMapping(value: unknown): value is Values {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Merges a user's values over the chart's: mappings are merged, everything else is replaced, and null removes a value.
 * Source: helm.sh/docs/chart_template_guide/values_files.
 */
export function coalesce(defaults: Values, said: Values): Values {
  const merged: Record<string, unknown> = { ...defaults };
  for (const [key, value] of Object.entries(said)) {
    const before = merged[key];
    if (value === null) Reflect.deleteProperty(merged, key);
    else merged[key] = isMapping(value) && isMapping(before) ? coalesce(before, value) : value;
  }
  return merged;
}
