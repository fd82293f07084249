import type { MessageKind } from '@kubus/contracts/observatory';
import type { ReactNode } from 'react';
import { kindNames, kindPath } from './kind-shape.ts';

interface Props {
  readonly kind: MessageKind;
  /** The colour of the service; default: that of the text. */
  readonly color?: string;
}

/** The shape of a kind, as the timeline draws it. */
export function KindMark({ kind, color = 'currentColor' }: Props): ReactNode {
  const path = kindPath(kind, 6, 6, 4);
  return (
    <svg className="kind" width="12" height="12" viewBox="0 0 12 12" role="img" aria-label={kindNames[kind]}>
      {path === 'disc' ? (
        <circle cx="6" cy="6" r="4.2" fill={color} />
      ) : (
        <polygon points={path.map((point) => point.join(',')).join(' ')} fill={color} />
      )}
    </svg>
  );
}
