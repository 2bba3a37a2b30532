/** What is drawn of each icon: elements of SVG with their attributes. */
declare const icons: Record<string, [string, Record<string, string>][]>;
export default icons;
