/** What the playground uses of @azure/msal-browser: its package with all types has 25 MB. */
export interface Account {
  name?: string;
  username: string;
}
export interface Token {
  accessToken: string;
  account: Account;
  expiresOn: Date | null;
  state?: string;
}
export interface Client {
  handleRedirectPromise(options?: { navigateToLoginRequestUrl?: boolean }): Promise<Token | null>;
  getAllAccounts(): Account[];
  acquireTokenSilent(request: { scopes: string[]; account: Account; cacheLookupPolicy?: number }): Promise<Token>;
  acquireTokenRedirect(request: { scopes: string[]; state?: string; prompt?: string }): Promise<void>;
  clearCache(): Promise<void>;
}
declare const msal: {
  createStandardPublicClientApplication(configuration: {
    auth: { clientId: string; authority: string; knownAuthorities?: string[]; redirectUri?: string };
    cache?: { cacheLocation: string };
  }): Promise<Client>;
  CacheLookupPolicy: { AccessTokenAndRefreshToken: number };
};
export default msal;
