import os
print(os.path.exists('x.txt') and open('x.txt').read())
