/** A service on the map: the upper left corner of its box. */
export interface MapNode {
  readonly service: string;
  readonly x: number;
  readonly y: number;
}

/** Size of the boxes, in pixels. */
export const nodeWidth = 136;
export const nodeHeight = 46;

export interface Size {
  readonly width: number;
  readonly height: number;
}
