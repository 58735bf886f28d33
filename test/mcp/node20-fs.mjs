const source = `
  export * from 'node:fs';
  export const globSync = () => { throw new Error('fs.globSync takes Node 22'); };
`;

// resolve gives the conformance suite an fs with that name in it.
export async function resolve(specifier, context, next) {
  if (specifier === 'fs' && context.parentURL?.includes('/@modelcontextprotocol/conformance/')) {
    const url = `data:text/javascript,${encodeURIComponent(source)}`;
    return { url, format: 'module', shortCircuit: true };
  }
  return next(specifier, context);
}
