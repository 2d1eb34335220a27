export class Compare {}
