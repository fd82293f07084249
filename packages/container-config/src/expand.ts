/**
 * Replaces `$(NAME)` by the variable's value; `$$(NAME)` stays as `$(NAME)`, and a reference to an unknown variable stays
 * as it is (kubelet behaviour 1.15, command).
 */
export function expand(text: string, variables: ReadonlyMap<string, string>): string {
  return text.replace(/\$(?:(\$)|\(([^)]*)\))/g, (whole, dollar: string | undefined, name: string | undefined) => {
    if (dollar !== undefined) return '$';
    return variables.get(name ?? '') ?? whole;
  });
}
