import type { ReactNode } from 'react';

interface Props {
  readonly title: string;
  /** How to get data, with the command. */
  readonly children: ReactNode;
}

export function EmptyState({ title, children }: Props): ReactNode {
  return (
    <div className="empty-state">
      <h2>{title}</h2>
      <p>{children}</p>
    </div>
  );
}
