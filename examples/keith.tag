name         keith
start        S
nonterminals S VP V sub adv
terminals    Naturally, Keith likes cats

tree η1 = S(sub↓ VP(V↓ sub↓))
tree η2 = sub(Keith)
tree η3 = sub(cats)
tree η4 = V(likes)
tree α1 = S(adv(Naturally,) S*)
