/**
 * Replaces `$(NAME)` by the variable's value; `$$(NAME)` stays as `$(NAME)`, and a reference to an unknown variable stays
 * as it is (kubelet behaviour 1.15, command).
 *
 * @param variables the variables, or how to find one
 */
export function expand(
  text: string,
  variables: ReadonlyMap<string, string> | ((name: string) => string | undefined),
): string {
  const find = typeof variables === 'function' ? variables : (name: string) => variables.get(name);
  return text.replace(/\$(?:(\$)|\(([^)]*)\))/g, (whole, dollar: string | undefined, name: string | undefined) => {
    if (dollar !== undefined) return '$';
    return find(name ?? '') ?? whole;
  });
}
