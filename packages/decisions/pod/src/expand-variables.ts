/**
 * Replaces `$(NAME)` with the variable's value. `$$(NAME)` becomes `$(NAME)`; a reference to an unknown variable is not
 * changed (behaviour:environment-and-dns, command).
 *
 * @param variables the variables, or a function that finds one
 */
export function expandVariables(
  text: string,
  variables: ReadonlyMap<string, string> | ((name: string) => string | undefined),
): string {
  const find = typeof variables === 'function' ? variables : (name: string) => variables.get(name);
  return text.replace(/\$(?:(\$)|\(([^)]*)\))/g, (whole, dollar: string | undefined, name: string | undefined) => {
    if (dollar !== undefined) return '$';
    return find(name ?? '') ?? whole;
  });
}
