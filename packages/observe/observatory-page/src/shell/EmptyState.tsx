import type { ReactNode } from 'react';

interface Props {
  readonly title: string;
  /** Whether it is the whole view, which has no other heading. */
  readonly whole?: boolean;
  /** How to get data, with the command. */
  readonly children: ReactNode;
}

export function EmptyState({ title, whole = false, children }: Props): ReactNode {
  return (
    <div className="empty-state">
      {whole ? <h1>{title}</h1> : <h2>{title}</h2>}
      <p>{children}</p>
    </div>
  );
}
