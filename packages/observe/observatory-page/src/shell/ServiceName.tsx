import type { ReactNode } from 'react';
import { colorOf } from '../theme/services.ts';

/** A service with its colour. */
export function ServiceName({ service }: { readonly service: string }): ReactNode {
  return (
    <span className="service">
      <span aria-hidden="true" className="swatch" style={{ background: colorOf(service) }} />
      {service}
    </span>
  );
}
